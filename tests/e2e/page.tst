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
GET /ui/nosuch.js
= 404

GET /nosuch
= 404
~ <h1>Page Not Found</h1>
GET /nosuch?json
= 404
~ {"err":
