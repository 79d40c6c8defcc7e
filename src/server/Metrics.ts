// All metrics, in the order of `GET /metrics`. Each is declared where it is updated, or in the file of its feature if several files update it.
import { auditUnlinkedRecords } from "./audit/Linking.ts"
import * as ChainMetrics from "./chains/ChainMetrics.ts"
import { eventsHeldBack, eventsHeldBackSeconds } from "./events/EventDelay.ts"
import { eventStreams } from "./events/EventStreams.ts"
import * as HealthMetrics from "./health/HealthMetrics.ts"
import * as RequestMetrics from "./http/RequestMetrics.ts"
import * as LaneMetrics from "./lanes/LaneMetrics.ts"
import * as LedgerGauges from "./ledger/LedgerGauges.ts"
import { databaseQuerySeconds } from "../sql/Query.ts"
import { componentHealthy, jobHealthy } from "./lifecycle/Lifecycle.ts"
import { databaseConnections } from "./lifecycle/SharedJobs.ts"
import * as RateLimitMetrics from "./limits/RateLimitMetrics.ts"
import { webhookDeliveriesTotal, webhookDeliverySeconds } from "./notifications/delivery/DeliveryAttempts.ts"
import { webhookDeliveriesPending } from "./notifications/delivery/DeliveryJob.ts"
import { unreadableRows } from "./masterKey/UnreadableRows.ts"
import { processMetrics } from "./observability/Gauges.ts"
import { buildInfo } from "./observability/MetricsHttp.ts"
import { relayerCount } from "./relayers/RelayerCount.ts"
import { networkMetrics } from "./Services.ts"
import * as SignerMetrics from "./signers/SignerMetrics.ts"

const all = [
  ...RequestMetrics.all,
  ...RateLimitMetrics.all,
  databaseQuerySeconds,
  jobHealthy,
  componentHealthy,
  databaseConnections,
  auditUnlinkedRecords,
  unreadableRows,
  eventStreams,
  eventsHeldBack,
  eventsHeldBackSeconds,
  relayerCount,
  ...HealthMetrics.all,
  ...ChainMetrics.all,
  ...SignerMetrics.all,
  ...LaneMetrics.all,
  ...networkMetrics,
  ...LedgerGauges.all,
  webhookDeliveriesTotal,
  webhookDeliverySeconds,
  webhookDeliveriesPending,
  buildInfo,
  ...Object.values(processMetrics)
]

export const names: ReadonlyArray<string> = all.map(({ id }) => id)
