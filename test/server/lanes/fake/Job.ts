// The job of lanes without a database: a test gives the ledger and the other services that it is about.
import { Layer } from "effect"
import type { SendingNetworks } from "../../../../src/server/lanes/LaneNetwork.ts"
import * as LanesJob from "../../../../src/server/lanes/LanesJob.ts"
import type { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { Draining, Jobs } from "../../../../src/server/lifecycle/Lifecycle.ts"
import type { CommitSignals } from "../../../../src/server/lifecycle/Lifecycle.ts"
import { ApiKeys } from "../../../../src/server/access/ApiKeys.ts"
import { Gauges } from "../../../../src/server/observability/Gauges.ts"
import type { RelayerTargets } from "../../../../src/server/relayers/RelayerTargets.ts"
import type { Signers } from "../../../../src/server/signers/Signers.ts"

export const layer = (given: Layer.Layer<LaneLedger | CommitSignals | SendingNetworks | RelayerTargets | Signers>) =>
  LanesJob.layer.pipe(
    Layer.provide([given, Layer.mock(Ledger, {}), Layer.mock(ApiKeys, {})]),
    Layer.provideMerge(Layer.merge(Draining.layer, Jobs.layer)),
    Layer.provide(Gauges.layer)
  )
