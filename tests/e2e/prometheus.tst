# The adapter of Prometheus escapes what names cannot hold, and reads the body of
# any answer but 204.
with Content-Type: application/json
POST /api/put [{"metric":"e_pr_up","timestamp":1356998400,"value":1,"tags":{"instance":"127.0.0.1_3A9090","job":"node"}},{"metric":"e_pr_up","timestamp":1356998415,"value":0.25,"tags":{"instance":"127.0.0.1_3A9090","job":"node"}}]
= 204
|
POST /api/put?summary [{"metric":"e_pr_up","timestamp":1356998430,"value":"NaN","tags":{"job":"node"}},{"metric":"e_pr_up","timestamp":1356998430,"value":1,"tags":{"job":"node"}}]
= 400
~ "failed":1
~ "success":1
GET /api/query?start=1356998340&end=1357002000&m=none:e_pr_up%7Binstance=*%7D
= 200
~ "instance":"127.0.0.1_3A9090"
~ "dps":{"1356998400":1.0,"1356998415":0.25}
