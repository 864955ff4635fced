# The page and what it loads: never kept without asking, gzip for those that take it.
GET /
= 200
~ name="viewport"
~ <script src="ui/page.js" defer>
~ <noscript>
GET /ui/page.css
= 200
~ .legend
GET /ui/page.js
= 200
~ halite.authorization
# As it lies in the program, for a client that takes it.
with Accept-Encoding: gzip
GET /ui/page.css
= 200
!~ .legend
with If-None-Match: W/"0"
GET /ui/page.css
= 200
GET /ui/nosuch.js
= 404

GET /nosuch
= 404
~ <h1>Page Not Found</h1>
GET /nosuch?json
= 404
~ {"err":
