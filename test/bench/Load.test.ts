import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Load from "../../bench/harness/Load.ts"

describe("Load", () => {
  it("the content length of a plan counts the digits that are filled in", () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrk-"))
    const body = '{"signer_id":"c@N@"}'
    Load.wrkArguments({
      url: "http://127.0.0.1:1",
      key: "secret",
      plan: { requests: [{ method: "POST", path: "/x/@ID@", body }], from: 7 },
      connections: 1,
      seconds: 1,
      folder
    })
    const plan = fs.readFileSync(path.join(folder, "plan.lua"), "utf8")
    fs.rmSync(folder, { recursive: true })
    assert.include(plan, `Content-Length: ${'{"signer_id":"c000000001"}'.length}\\r\\n`)
    assert.include(plan, '{"POST /x/",1," HTTP/1.1\\r\\n')
    assert.include(plan, 'c",2,"\\"}"')
    assert.include(plan, "from = 7, ids = nil")
  })
})
