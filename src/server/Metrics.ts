// All metrics, in the order of `GET /metrics`. Each feature declares its own.
import { databaseQuerySeconds } from "../sql/Query.ts"
import * as AuditMetrics from "./audit/AuditMetrics.ts"
import * as ChainMetrics from "./chains/ChainMetrics.ts"
import * as EventMetrics from "./events/EventMetrics.ts"
import * as HealthMetrics from "./health/HealthMetrics.ts"
import * as RequestMetrics from "./http/RequestMetrics.ts"
import * as LaneMetrics from "./lanes/LaneMetrics.ts"
import * as LedgerGauges from "./ledger/LedgerGauges.ts"
import * as LifecycleMetrics from "./lifecycle/LifecycleMetrics.ts"
import * as RateLimitMetrics from "./limits/RateLimitMetrics.ts"
import * as DeliveryMetrics from "./notifications/delivery/DeliveryMetrics.ts"
import * as BuildMetrics from "./observability/BuildMetrics.ts"
import * as ProcessMetrics from "./observability/ProcessMetrics.ts"
import * as RelayerMetrics from "./relayers/RelayerMetrics.ts"
import * as SignerMetrics from "./signers/SignerMetrics.ts"

const all = [
  ...RequestMetrics.all,
  ...RateLimitMetrics.all,
  databaseQuerySeconds,
  ...LifecycleMetrics.all,
  ...AuditMetrics.all,
  ...EventMetrics.all,
  ...RelayerMetrics.all,
  ...HealthMetrics.all,
  ...ChainMetrics.all,
  ...SignerMetrics.all,
  ...LaneMetrics.all,
  ...LedgerGauges.all,
  ...DeliveryMetrics.all,
  ...BuildMetrics.all,
  ...ProcessMetrics.all
]

export const names: ReadonlyArray<string> = all.map(({ id }) => id)
