// The services that the handlers of a group keep.
import { assert, it } from "@effect/vitest"
import { ByteSize, Context, Effect, Layer } from "effect"
import { HttpIncomingMessage } from "effect/http"
import * as fs from "node:fs"
import * as path from "node:path"
import * as GroupServices from "../../../src/server/responses/GroupServices.ts"

class Used extends Context.Service<Used, string>()("effect-relayer/test/server/responses/GroupServices.test/Used") {}
class Unused extends Context.Service<Unused, string>()(
  "effect-relayer/test/server/responses/GroupServices.test/Unused"
) {}
class Group extends Context.Service<Group, Context.Context<never>>()(
  "effect-relayer/test/server/responses/GroupServices.test/Group"
) {}

const group = Layer.effect(Group, Effect.andThen(Used, Effect.context<never>()))

it.effect("a group keeps the services that it names and the limit of bodies, and no others", () =>
  Effect.gen(function* () {
    const kept = yield* Group
    assert.strictEqual(Context.getOrUndefined(kept, Used), "used")
    assert.strictEqual(Context.getOrUndefined(kept, Unused), undefined)
    assert.deepStrictEqual(Context.get(kept, HttpIncomingMessage.MaxBodySize), ByteSize.bytes(7))
  }).pipe(
    Effect.provide(
      group.pipe(
        GroupServices.limitTo(Used),
        Layer.provide([
          Layer.succeed(Used, "used"),
          Layer.succeed(Unused, "unused"),
          Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(7))
        ])
      )
    )
  )
)

const server = path.join(import.meta.dirname, "../../../src/server")

it("every group names the services that it keeps", () => {
  const groups = fs
    .globSync("**/*Http.ts", { cwd: server })
    .map((file) => ({ file, text: fs.readFileSync(path.join(server, file), "utf8") }))
    .filter(({ text }) => text.includes("HttpApiBuilder.group("))
  const count = (text: string, part: string) => text.replaceAll(/\s+/g, "").split(part).length - 1
  assert.isAbove(groups.length, 10)
  assert.deepStrictEqual(
    groups
      .filter(({ text }) => count(text, "HttpApiBuilder.group(") !== count(text, ".pipe(GroupServices.limitTo("))
      .map(({ file }) => file),
    []
  )
})
