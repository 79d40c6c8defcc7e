// A network type as one value: all that the service needs of it. A program that runs the service names the values that it serves; what the
// service does for the other types is to refuse.
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import type { Rules } from "../networks/core/Rules.ts"
import type { ApiKeys } from "./access/ApiKeys.ts"
import type { Audit } from "./audit/Audit.ts"
import type { ChainKind, ProviderQuestions } from "./chains/Chains.ts"
import type { RpcDialect } from "./chains/RpcNode.ts"
import type { RpcNodes } from "./chains/RpcNodes.ts"
import type { SendingNetwork } from "./lanes/LaneNetwork.ts"
import type { LaneLedger } from "./ledger/LaneLedger.ts"
import type { Ledger } from "./ledger/Ledger.ts"
import type { OutboundWork } from "./limits/RateLimits.ts"
import type { Networks } from "./networks/Networks.ts"
import type { PriceSource } from "./prices/PriceSource.ts"
import type { RelayerTargets } from "./relayers/RelayerTargets.ts"
import type { Relayers } from "./relayers/Relayers.ts"
import type { Signers } from "./signers/Signers.ts"
import type {
  HindsightNetwork,
  MessageNetwork,
  MessageSigning,
  Sponsoring,
  TransactionSigning
} from "./transactions/Exchanges.ts"
import type { Intake, Intakes } from "./transactions/Intake.ts"
import type { NodeNetwork } from "./transactions/NodePassing.ts"
import type { DelegationNetwork } from "./transactions/Delegations.ts"
import type { SequenceNetwork } from "./transactions/Nonces.ts"
import type { Transactions } from "./transactions/Transactions.ts"

/** What exists when a lane of the network is opened. */
type SendingParts = PriceSource | LaneLedger | Ledger | RelayerTargets | SqlClient.SqlClient | Scope.Scope

/** What exists when bodies of the network are decoded. */
type IntakeParts = SendingParts | OutboundWork | SecureRandom.SecureRandom

/** What exists when the network answers other requests. */
type RequestParts = SendingParts | ApiKeys | Audit | Intakes | Networks | OutboundWork | Relayers | Signers

/** What exists when the network answers calls to nodes: they do what other requests do. */
type NodeCallParts = RequestParts | MessageSigning | Sponsoring | Transactions | TransactionSigning

/**
 * A network type whose nodes are made: all parts ask the same ones, so that a URL has one breaker and one retry rule. Each part is made
 * when the services that it needs are there.
 */
export interface OpenNetwork {
  /** Inspects accounts and providers, for health checks and for creates. */
  readonly inspection: ChainKind
  readonly sending: Effect.Effect<SendingNetwork, never, SendingParts>
  readonly intake: Effect.Effect<Intake, never, IntakeParts>
  /** What accounts delegate to. Absent: accounts of the network do not delegate. */
  readonly delegations?: Effect.Effect<DelegationNetwork, never, IntakeParts | RequestParts>
  /** The sequences of accounts, for operators. Absent: operators see none. */
  readonly sequences?: Effect.Effect<SequenceNetwork, never, RequestParts>
  /** Absent: relayers of the network answer no JSON-RPC. */
  readonly nodeCalls?: Effect.Effect<NodeNetwork, never, NodeCallParts>
  /** Absent: relayers of the network sign no messages. */
  readonly messages?: Effect.Effect<MessageNetwork, never, RequestParts>
  /** Absent: policies are not tried on the past, and transactions have no base fees. */
  readonly hindsight?: Effect.Effect<HindsightNetwork, never, RequestParts>
}

export interface ServedNetwork {
  /** Also the forms of addresses, bodies and rows. */
  readonly rules: Rules
  /** Metrics that only this network type has. */
  readonly metrics: ReadonlyArray<{ readonly id: string }>
  /** How its nodes speak, and what they are asked about themselves. Absent: its nodes have no JSON-RPC. */
  readonly provider?: { readonly dialect: RpcDialect; readonly questions: ProviderQuestions }
  readonly open: Effect.Effect<OpenNetwork, never, RpcNodes>
}

type Served = OpenNetwork & Pick<ServedNetwork, "rules" | "metrics">

/** The network types that this program serves. */
export class ServedNetworks extends Context.Service<
  ServedNetworks,
  {
    readonly all: ReadonlyArray<Served>
  }
>()("effect-relayer/server/ServedNetworks") {
  static readonly layer = (networks: ReadonlyArray<ServedNetwork>) =>
    Layer.effect(
      ServedNetworks,
      Effect.forEach(networks, ({ open, rules, metrics }) =>
        Effect.map(open, (opened): Served => ({ ...opened, rules, metrics }))
      ).pipe(Effect.map((all) => ServedNetworks.of({ all })))
    )
}

/** A part of all served networks that have it. */
export const partsOf = <A, R>(part: (network: Served) => Effect.Effect<A, never, R> | undefined) =>
  Effect.flatMap(ServedNetworks, ({ all }) => Effect.all(all.flatMap((network) => part(network) ?? [])))
