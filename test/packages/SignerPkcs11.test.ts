// The package of signers of PKCS#11 in an empty project: it compiles there, and runs on each Node. Programs run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { compile, nodes, output, project, write } from "./Project.ts"

class Installed extends Context.Service<Installed, string>()(
  "effect-relayer/test/packages/SignerPkcs11.test/Installed"
) {
  static readonly layer = Layer.effect(this, project("@effect-relayer/signer-pkcs11", []))
}

const program = `import { load } from "@effect-relayer/signer-pkcs11"

const opened: string = await load().then(
  ({ open }) => typeof open,
  (error: { readonly code?: string }) => error.code ?? "no code"
)
process.stdout.write(opened)
`

layer(Installed.layer, { excludeTestServices: true })("the package of signers of PKCS#11", (it) => {
  it.effect("compiles in strict TypeScript", () =>
    Effect.gen(function* () {
      const home = yield* Installed
      yield* write(home, { "load.ts": program })
      assert.strictEqual(yield* compile(home), "")
    })
  )

  for (const { name, file, exists } of nodes) {
    it.effect.skipIf(!exists)(
      `says on ${name} that it lacks the compiled package, which npm does not install with it`,
      () =>
        Effect.gen(function* () {
          const home = yield* Installed
          yield* write(home, { "load.ts": program })
          assert.strictEqual(yield* output(home, file, ["--no-warnings", "load.ts"]), "ERR_MODULE_NOT_FOUND")
        })
    )
  }
})
