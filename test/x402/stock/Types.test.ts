// The types of the package are those of the stock packages.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Folder from "../../../testkit/process/Folder.ts"
import { root, stock } from "../../../testkit/x402/Payments.ts"

const program = `import type * as Core from "@x402/core/types"
import type { PendingSettlementStore } from "@x402/core/facilitator"
import type { FacilitatorClient } from "@x402/core/server"
import { ExactEvmScheme } from "@x402/evm/exact/facilitator"
import type {
  Facilitator,
  Options,
  PaymentPayload,
  PaymentRequirements,
  Seller,
  SettleResponse,
  Store,
  VerifyResponse
} from "${root}/packages/x402/src/index.ts"

export const exact: Options["exact"] = ExactEvmScheme
export const store = (one: Store): PendingSettlementStore => one
export const payload = (one: Core.PaymentPayload): PaymentPayload => one
export const requirements = (one: Core.PaymentRequirements): PaymentRequirements => one
export const verified = (one: VerifyResponse): Core.VerifyResponse => one
export const settled = (one: SettleResponse): Core.SettleResponse => one
export const local = (facilitator: Facilitator, seller: Seller): Pick<FacilitatorClient, "verify" | "settle"> => ({
  verify: (paymentPayload, paymentRequirements) => facilitator.verify({ paymentPayload, paymentRequirements }, seller),
  settle: (paymentPayload, paymentRequirements) => facilitator.settle({ paymentPayload, paymentRequirements }, seller)
})
`

const settings = {
  compilerOptions: {
    target: "ES2024",
    lib: ["ES2024", "DOM"],
    module: "NodeNext",
    types: ["node"],
    typeRoots: [path.join(root, "node_modules/@types")],
    strict: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true
  },
  include: ["*.ts"]
}

it.effect("the scheme, payments and responses of the stock packages are those of the facilitator", () =>
  Effect.gen(function* () {
    const home = yield* Folder.folder
    yield* Effect.promise(async () => {
      await fs.symlink(path.join(stock, "node_modules"), path.join(home, "node_modules"))
      await fs.writeFile(path.join(home, "package.json"), '{"type": "module"}')
      await fs.writeFile(path.join(home, "tsconfig.json"), JSON.stringify(settings))
      await fs.writeFile(path.join(home, "types.ts"), program)
    })
    const checker = path.join(root, "scripts/checker.mjs")
    const { status, stdout, stderr } = spawnSync(process.execPath, [checker, "tsc", "-p", home], {
      cwd: root,
      encoding: "utf8"
    })
    assert.strictEqual(status, 0, stdout + stderr)
  })
)
