// The file of the last verified head of the audit log.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as AuditHeadFile from "../../src/process/AuditHeadFile.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-test-"))),
  (dataDir) => Effect.sync(() => fs.rmSync(dataDir, { recursive: true, force: true }))
)

describe("the file of the audit head", () => {
  it.effect("keeps the newest head, and only its owner can read it", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const store = AuditHeadFile.store(dataDir)
      assert.deepStrictEqual(yield* store.read, Option.none())
      for (const position of [7, 12]) {
        const head = { position, hash: "0f".repeat(32) }
        yield* store.write(head)
        assert.deepStrictEqual(yield* store.read, Option.some(head))
      }
      assert.deepStrictEqual(fs.readdirSync(dataDir), ["audit-head"])
      assert.strictEqual(fs.statSync(path.join(dataDir, "audit-head")).mode & 0o777, 0o600)
      yield* AuditHeadFile.remove(dataDir)
      assert.deepStrictEqual(yield* store.read, Option.none())
    })
  )

  it.effect("is an error if it is damaged, and is never taken for absent", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      fs.writeFileSync(path.join(dataDir, "audit-head"), "7:abc\n")
      const exit = yield* Effect.exit(AuditHeadFile.store(dataDir).read)
      assert.isTrue(Exit.isFailure(exit))
      assert.match(String(exit), /audit-head does not contain a position and a hash: remove it/)
    })
  )
})
