// The commands that keep old records of the audit log in files. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { signer } from "../../testkit/fixtures.ts"
import { running } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"

describe("the audit log", () => {
  it.live("is exported, pruned and verified, in the service and in its files", () =>
    Effect.gen(function* () {
      const { service, call, output } = yield* running()
      const dir = yield* folder
      const create = (id: string) => service.call("/api/v1/signers", { body: { ...signer, id } })
      for (const id of ["a", "b"]) yield* create(id)

      const first = path.join(dir, "first.jsonl")
      const printed = yield* output("audit", "export", first)
      assert.include(printed, "records 1 to 2, verified")
      const checkpoint = /--before (2:[0-9a-f]{64})/.exec(printed)?.[1] ?? assert.fail(printed)
      assert.strictEqual((yield* Effect.promise(() => fs.stat(first))).mode & 0o777, 0o600)
      assert.match(yield* output("audit", "verify", "--file", first), /records +1 to 2/)
      yield* output("audit", "prune", "--yes", "--before", checkpoint)
      assert.notInclude(yield* output("audit", "list", "--resource", "signer"), "signer.created")
      assert.match(yield* output("audit", "verify"), /checked +2\n/)
      assert.match(yield* output("audit", "checkpoints"), new RegExp(`^${checkpoint} +yes$`, "m"))

      yield* create("c")
      const second = path.join(dir, "second.jsonl")
      assert.include(yield* output("audit", "export", second), "records 3 to 5, verified")
      assert.match(yield* output("audit", "verify", "--file", second), /records +3 to 5/)

      const again = yield* call(["audit", "export", second])
      assert.strictEqual(again.code, 2)
      assert.include(again.stderr, "it exists already: choose another name")
      const text = yield* Effect.promise(() => fs.readFile(first, "utf8"))
      const damaged = [
        [text.replace('"resource_id":"b"', '"resource_id":"x"'), "the audit log is broken at record 2"],
        [text.split("\n").toSpliced(1, 1).join("\n"), "the audit log is broken at record 1"],
        [text.split("\n").toSpliced(2, 1).join("\n"), "the audit log is broken at record 2"],
        [text.split("\n").slice(0, 3).join("\n"), "is incomplete"]
      ] as const
      for (const [content, message] of damaged) {
        yield* Effect.promise(() => fs.writeFile(first, content))
        const refused = yield* call(["audit", "verify", "--file", first])
        assert.deepStrictEqual([refused.code, refused.stderr.includes(message)], [1, true], refused.stderr)
      }
      assert.deepStrictEqual((yield* Effect.promise(() => fs.readdir(dir))).toSorted(), ["first.jsonl", "second.jsonl"])
    }).pipe(Effect.scoped)
  )
})
