// All mutants, by area.
import type { Mutant } from "./Mutant.ts"
import { opinions } from "./neutral/Opinions.ts"
import { core } from "./neutral/Transactions.ts"
import { limits } from "./neutral/Limits.ts"
import { topUps } from "./neutral/TopUps.ts"
import { taken } from "./evm/Taken.ts"
import { mined } from "./evm/Mined.ts"
import { nonces } from "./evm/Nonces.ts"
import { costs } from "./evm/Costs.ts"
import { sending } from "./evm/Sending.ts"
import { batch } from "./evm/Batch.ts"
import { privacy } from "./evm/Privacy.ts"
import { delegations } from "./evm/Delegations.ts"
import { proofs } from "./solana/Proofs.ts"
import { signatures as signaturesOfSolana } from "./solana/Signatures.ts"
import { guard as guardOfSolana } from "./solana/Guard.ts"
import { restores } from "./solana/Restores.ts"
import { evidence } from "./stellar/Evidence.ts"
import { signatures as signaturesOfStellar } from "./stellar/Signatures.ts"
import { guard as guardOfStellar } from "./stellar/Guard.ts"
import { payments } from "./stellar/Payments.ts"
import { fences } from "./ledger/Fences.ts"
import { commits } from "./ledger/Commits.ts"
import { acceptance } from "./ledger/Acceptance.ts"
import { changes } from "./ledger/Changes.ts"
import { memory } from "./ledger/Memory.ts"
import { providers } from "./security/Providers.ts"
import { webhooks } from "./security/Webhooks.ts"
import { secrets } from "./security/Secrets.ts"
import { callers } from "./security/Callers.ts"
import { kit } from "./testkit/Kit.ts"
import { settlements } from "./x402/Settlements.ts"

export const areas: Readonly<Record<string, ReadonlyArray<Mutant>>> = {
  neutral: [...opinions, ...core, ...limits, ...topUps],
  evm: [...taken, ...mined, ...nonces, ...costs, ...sending, ...privacy, ...batch, ...delegations],
  solana: [...proofs, ...signaturesOfSolana, ...guardOfSolana, ...restores],
  stellar: [...evidence, ...signaturesOfStellar, ...guardOfStellar, ...payments],
  ledger: [...fences, ...commits, ...acceptance, ...changes, ...memory],
  security: [...providers, ...webhooks, ...secrets, ...callers],
  testkit: kit,
  x402: settlements
}
