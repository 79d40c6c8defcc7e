// Checks openapi.json: lints it, generates clients from it, and has them create and list relayers of a running service.
// If RESULTS names a file, the counts are written to it in the format of .ci/reporter.mjs.
import assert from "node:assert/strict"
import { join } from "node:path"
import { Checks } from "./kit/Checks.mjs"
import { document, run, withFolder } from "./kit/commands.mjs"
import { generatePython, python } from "./kit/python.mjs"
import { withService } from "./kit/service.mjs"
import { compileClient } from "./kit/typescript.mjs"

/** What each client reports about the relayer that it has created. */
const expected = (id) => ({
  created: id,
  usesSigner: true,
  listed: true,
  policies: { min_balance: 1000, eip1559_pricing: true },
  refused: "Relayer not found"
})

const checks = new Checks()

await withFolder(async (folder) => {
  await checks.run("redocly finds no error", () => run("redocly", "lint", document))

  const openapiFetch = await checks.run("openapi-typescript generates types that compile", () => {
    const out = join(folder, "openapi-fetch")
    return compileClient(out, "openapi-fetch.ts", () =>
      run("openapi-typescript", document, "--output", join(out, "types.ts"))
    )
  })

  const heyApi = await checks.run("@hey-api/openapi-ts generates a client that compiles", () => {
    const out = join(folder, "hey-api")
    return compileClient(out, "hey-api.ts", () =>
      run("openapi-ts", "--no-log-file", "--input", document, "--output", join(out, "client"))
    )
  })

  const pythonClient =
    python === undefined
      ? checks.skip("openapi-python-client: this machine has no Python 3 with venv")
      : await checks.run("openapi-python-client generates every operation", () =>
          generatePython(join(folder, "python"))
        )

  const clients = { "openapi-fetch": openapiFetch, "hey-api": heyApi, python: pythonClient }
  await checks.run("the service starts and stops", () =>
    withService(folder, async (service) => {
      for (const [name, client] of Object.entries(clients)) {
        if (client === undefined) continue
        await checks.run(`the client ${name} creates, lists and reads a relayer`, async () => {
          const id = `by-${name}`
          assert.deepEqual(await client({ ...service, id }), expected(id))
        })
      }
    })
  )
})

checks.report()
