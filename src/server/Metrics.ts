// All metrics, in the order of `GET /metrics`. Each is declared where it is updated, or in the file of its feature if several files update it.
import type { ServedNetwork } from "./ServedNetworks.ts"
import { eventStreams } from "./events/EventStreams.ts"
import { rpcMetrics } from "./chains/Breakers.ts"
import { ledgerGauges } from "./ledger/LedgerJobs.ts"
import { componentHealthy, jobHealthy } from "./lifecycle/Lifecycle.ts"
import { databaseConnections } from "./lifecycle/SharedJobs.ts"
import * as RateLimitMetrics from "./limits/RateLimitMetrics.ts"
import { unreadableRows } from "./masterKey/UnreadableRows.ts"
import { buildInfo } from "./observability/MetricsHttp.ts"
import { auditUnlinkedRecords } from "./audit/Audit.ts"
import { databaseQuerySeconds } from "../sql/Transaction.ts"
import { eventsHeldBack, eventsHeldBackSeconds } from "./events/Events.ts"
import { requestMetrics } from "./http/MiddlewareHttp.ts"
import { metrics } from "./lanes/LaneSending.ts"
import { healthMetrics } from "./health/HealthChecks.ts"
import {
  webhookDeliveriesPending,
  webhookDeliveriesTotal,
  webhookDeliverySeconds
} from "./notifications/delivery/DeliveryJob.ts"
import { processMetrics } from "./observability/Gauges.ts"
import { relayerCount } from "./relayers/Relayers.ts"
import { signerMetrics } from "./signers/SignerKeys.ts"
import { topUpMetrics } from "./transactions/TopUpPayments.ts"

const before = [
  ...requestMetrics,
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
  ...healthMetrics,
  ...rpcMetrics,
  ...signerMetrics,
  ...metrics
]

const after = [
  ...ledgerGauges,
  ...topUpMetrics,
  webhookDeliveriesTotal,
  webhookDeliverySeconds,
  webhookDeliveriesPending,
  buildInfo,
  ...Object.values(processMetrics)
]

/** The metrics of the served networks are after those of all lanes. */
export const namesOf = (networks: ReadonlyArray<Pick<ServedNetwork, "metrics">>): ReadonlyArray<string> =>
  [...before, ...networks.flatMap(({ metrics }) => metrics), ...after].map(({ id }) => id)
