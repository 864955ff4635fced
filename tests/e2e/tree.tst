! disk --sync=off tsd.core.tree.enable_processing=true tsd.core.auto_create_metrics=true tsd.core.meta.enable_realtime_ts=true tsd.core.meta.enable_tsuid_tracking=true
# Trees: defined, filled by rules from what is put, browsed; and they last.
GET /api/tree
= 200
| []
POST /api/tree {"description":"no name"}
= 400
~ "message":"Tree was missing the name"
POST /api/tree {"name":"Hosts","enabled":true,"storeFailures":true}
= 200
~ "treeId":1
GET /api/tree?name=Second&method_override=post
= 200
~ "treeId":2
GET /api/tree/rules
= 400
~ "message":"Invalid Tree ID"
GET /api/tree/rules?treeid=9
= 404
GET /api/tree/rules?treeid=1
= 400
~ "message":"Unsupported HTTP request method"
POST /api/tree/rules null
= 400
~ "message":"Missing tree rules"
POST /api/tree/rules {}
= 400
POST /api/tree {"treeId":1,"rules":{}}
= 400
~ Unable to parse the given JSON
POST /api/tree {"treeId":1,"rules":null}
= 304
POST /api/tree/rules [{"treeId":1,"level":0,"order":0,"type":"METRIC","separator":"[.]"},{"treeId":1,"level":1,"order":0,"type":"TAGK","field":"host","displayFormat":"h {value}"}]
= 204
GET /api/tree/branch?treeid=1
= 404
~ Unable to locate branch '0001' for tree '1'
POST /api/put [{"metric":"sys.cpu.user","timestamp":1356998400,"value":1,"tags":{"host":"web01"}},{"metric":"sys.cpu.user","timestamp":1356998400,"value":1,"tags":{"host":"web02"}},{"metric":"sys.mem","timestamp":1356998400,"value":1,"tags":{"host":"web01"}},{"metric":"sys.mem","timestamp":1356998400,"value":1,"tags":{"host":"web01","dc":"lga"}},{"metric":"alone","timestamp":1356998400,"value":1,"tags":{"dc":"lga"}}]
= 204

# Branches, and leaves at their ends.
GET /api/tree/branch?treeid=1
= 200
| {"leaves":null,"branches":[{"leaves":null,"branches":null,"path":{"0":"ROOT","1":"sys"},"displayName":"sys","treeId":1,"branchId":"00010001BECD","depth":1}],"path":{"0":"ROOT"},"displayName":"ROOT","treeId":1,"branchId":"0001","depth":0}
GET /api/tree/branch?branch=00010001BECD
= 200
~ "branches":[{"leaves":null,"branches":null,"path":{"0":"ROOT","1":"sys","2":"cpu"},
~ "displayName":"mem"
~ "leaves":null,"branches":null,"path":{"0":"ROOT","1":"sys","2":"mem"},
GET /api/tree/branch?branch=00010001BECD000181A90036EBCB
= 404
GET /api/tree/branch?branch=00010001BECD000181A80036EBCB
= 200
~ {"leaves":[{"metric":"sys.cpu.user","tags":{"host":"web01"},"tsuid":"000001000001000001","displayName":"h web01"},{"metric":"sys.cpu.user","tags":{"host":"web02"},"tsuid":"000001000001000002","displayName":"h web02"}],"branches":null,
~ "branchId":"00010001BECD000181A80036EBCB","depth":3
GET /api/tree/branch?branch=000
= 400
~ Branch ID was too short
GET /api/tree/branch?branch=00xx
= 400
~ contains illegal character for hexBinary

# Two series with one leaf.
GET /api/tree/collisions?treeid=1
= 200
| {"000002000001000001000002000003":"000002000001000001"}
POST /api/tree/collisions {"treeId":1,"tsuids":["000001000001000001"]}
= 200
| {}
GET /api/tree/notmatched?treeid=1
= 200
| {}

# A try.
GET /api/tree/test?treeid=1&tsuids=000001000001000001,000001000001FFFFFF
= 200
~ "messages":["Processing rule: [1:0:0:METRIC]","Processing rule: [1:0:0:METRIC]","Processing rule: [1:0:0:METRIC]","Processing rule: [1:1:0:TAGK]","Matched tagk [host] for rule: [1:1:0:TAGK]","Depth [5] Adding leaf [name: h web01 tsuid: 000001000001000001] to parent branch [Name: [user]]","Depth [4] Adding branch: Name: [user] to parent: Name: [cpu]","Depth [3] Adding branch: Name: [cpu] to parent: Name: [sys]"]
~ "branches":[{"leaves":null,"branches":[{"leaves":null,"branches":[{"leaves":[{"metric":"","tags":null,"tsuid":"000001000001000001","displayName":"h web01"}],"branches":null,"path":{"0":"ROOT","1":"sys","2":"cpu","3":"user"}
~ "000001000001FFFFFF":{"meta":null,"messages":["Unable to locate TSUID meta data"],"branch":null}
GET /api/tree/test?treeid=2&tsuids=000001000001000001
= 400
~ The tree has no rules
GET /api/tree/test?treeid=2&tsuids=000001000001FFFFFF
= 200
| {"000001000001FFFFFF":{"meta":null,"messages":["Unable to locate TSUID meta data"],"branch":null}}
GET /api/dropcaches
= 200
| {"message":"Caches dropped","status":"200"}

# Strict matching leaves out what misses a level.
POST /api/tree/rule {"treeId":1,"level":2,"order":0,"type":"TAGK","field":"dc"}
= 200
POST /api/tree {"treeId":1,"strictMatch":true}
= 200
GET /api/tree/collisions?treeid=1
= 200
| {}
restart
GET /api/tree/rule?treeid=1&level=1&order=0
= 200
| {"type":"TAGK","field":"host","regex":"","separator":"","description":"","notes":"","level":1,"order":0,"treeId":1,"customField":"","regexGroupIdx":0,"displayFormat":"h {value}"}
GET /api/tree?treeid=1
= 200
~ "strictMatch":true,"storeFailures":true
GET /api/tree/branch?branch=00010001BECD
= 200
~ "displayName":"mem"
!~ "displayName":"cpu"

# Metadata gives names too.
POST /api/uid/uidmeta {"uid":"000001","type":"tagv","custom":{"owner":"ann"}}
= 200
POST /api/tree/rules [{"treeId":2,"level":0,"order":0,"type":"METRIC"},{"treeId":2,"level":1,"order":0,"type":"TAGV_CUSTOM","field":"web01","customField":"owner"}]
= 204
POST /api/tree {"treeId":2,"enabled":true}
= 200
GET /api/tree/branch?treeid=2
= 200
~ "displayName":"sys.cpu.user"
!~ "displayName":"alone"

# Without its definition a deleted tree is empty until it is written again.
DELETE /api/tree?treeid=2
= 204
GET /api/tree/branch?treeid=2
= 404
POST /api/tree {"treeId":2,"notes":"again"}
= 200
GET /api/tree/branch?treeid=2
= 200
DELETE /api/tree {"treeId":2,"definition":true}
= 204
GET /api/tree?treeid=2
= 404
~ Unable to locate tree: 2
DELETE /api/tree/rules?treeid=1
= 204
GET /api/tree?treeid=1
= 200
~ "rules":null
PUT /api/tree/rule?treeid=1&level=0&order=0&type=bogus
= 400
~ Unable to parse the 'type' parameter
POST /api/tree/rule {"treeId":1,"level":0,"order":0,"type":"METRIC","regex":"(["}
= 400
POST /api/tree/rule {"treeId":1}
= 304
GET /api/tree/rule/x?treeid=1&level=7&order=7
= 404
~ Unable to locate rule: [1:7:7:null]
GET /api/tree//rule?treeid=1
= 400
~ Missing parameter <code>level</code>
POST /api/tree/collisions {"treeId":1,"tsuids":"x"}
= 400
~ "message":"Unable to convert the given data to a list","details":
# Rules cannot be deleted, nor replaced, where there are none.
DELETE /api/tree/rules?treeid=1
= 400
~ Tree 1 has no rules to delete
PUT /api/tree/rules [{"treeId":1,"level":0,"order":0,"type":"METRIC"}]
= 400
POST /api/tree/rules [{"treeId":1,"level":0,"order":0,"type":"METRIC"}]
= 204
PUT /api/tree/rules [{"treeId":1,"level":1,"order":0,"type":"METRIC"}]
= 204
