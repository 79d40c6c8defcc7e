// The tables of the ledger, for both of its services: they share the id of this process and the mark of the database.
import { Layer } from "effect"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import { ClaimsRepo } from "./ClaimsRepo.ts"
import type * as Claims from "./ClaimsRepo.ts"
import { FeesRepo } from "./FeesRepo.ts"
import { GapsRepo } from "./GapsRepo.ts"
import { Holder } from "./Holder.ts"
import { LaneContentsRepo } from "./LaneContentsRepo.ts"
import { LanesRepo } from "./LanesRepo.ts"
import { LaneTotalsRepo } from "./LaneTotalsRepo.ts"
import { LedgerMark } from "./LedgerMark.ts"
import type * as Mark from "./LedgerMark.ts"
import { NewTransactionsRepo } from "./NewTransactionsRepo.ts"
import { RelayerTransactionsRepo } from "./RelayerTransactionsRepo.ts"
import { TransactionPagesRepo } from "./TransactionPagesRepo.ts"
import { TransactionsRepo } from "./TransactionsRepo.ts"

export interface Options extends Claims.Options, Mark.Options {}

export const layer = (options: Options = {}) =>
  Layer.mergeAll(
    AttemptsRepo.layer,
    ClaimsRepo.layer(options),
    FeesRepo.layer,
    GapsRepo.layer,
    LaneContentsRepo.layer,
    LanesRepo.layer,
    LaneTotalsRepo.layer,
    NewTransactionsRepo.layer,
    RelayerTransactionsRepo.layer,
    TransactionPagesRepo.layer,
    TransactionsRepo.layer
  ).pipe(Layer.provideMerge(Layer.merge(Holder.layer, LedgerMark.layer(options))))
