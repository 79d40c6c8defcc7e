// A folder that is removed when its scope closes. PostgreSQL, which does not run as root, can enter it.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const made = fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-bench-"))
    fs.chmodSync(made, 0o711)
    return made
  }),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)
