# A line of an answer is one line, whatever a name holds; a number of the client reaches nothing.
POST /api/tool/import?json=true&create=true {"type":"points","metric":"a\\ntaken 5 0\\nb","tags":{"host":"a"},"times":[1],"values":[1]}
= 200
~ taken 0 0
~ bad 0 Invalid metric name ("a taken 5 0 b")
POST /api/tool/import?sync=18446744073709551615
= 200
POST /api/tool/import?sync=true
= 200
~ server
~ taken 0 0
GET /api/version
= 200
