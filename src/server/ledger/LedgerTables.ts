// What both services of the ledger share: the id of this process, the mark of the database, and the claims on lanes.
import { Layer } from "effect"
import { ClaimsRepo } from "./hold/ClaimsRepo.ts"
import type * as Claims from "./hold/ClaimsRepo.ts"
import { Holder } from "./Holder.ts"
import { LedgerMark } from "./LedgerMark.ts"
import type * as Mark from "./LedgerMark.ts"
import { LedgerMemory } from "./memory/LedgerMemory.ts"
import type * as Memory from "./memory/LedgerMemory.ts"

export interface Options extends Claims.Options, Mark.Options {}

export const layer = (options: Options = {}) =>
  ClaimsRepo.layer(options).pipe(Layer.provideMerge(Layer.merge(Holder.layer, LedgerMark.layer(options))))

/** The same in memory, for tests: `Ledger.layerMemory` and `LaneLedger.layerMemory` use these tables. */
export const layerMemory = (options: Memory.Options = {}) =>
  Holder.layerMemory.pipe(Layer.provideMerge(LedgerMemory.layer(options)))
