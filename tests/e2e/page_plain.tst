# What a browser is shown, with examples that name us as it does.
GET /
= 200
~ <h1>Halite
~ name="viewport"
~ nc localhost 80
~ 'localhost:80/api/query
GET /nosuch
= 404
~ <h1>Page Not Found</h1>
GET /nosuch?json
= 404
~ {"err":

# A page must not hold what a header says, but for a name and a port.
with Host: a<script>:1
GET /
!~ <script>
