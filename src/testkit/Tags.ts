// The services that the kit stands in for. A service is found by its key, so that programs which ask for those of the package get these,
// and no module of the server is loaded.
import { Context } from "effect"
import type { ChainAccess as Access } from "../server/chains/RpcNodes.ts"
import type { EventFeed as Feed } from "../server/events/EventFeed.ts"
import type { Networks as Chains } from "../server/networks/Networks.ts"
import type { Relayers as Accounts } from "../server/relayers/Relayers.ts"
import type { Signers as Keys } from "../server/signers/Signers.ts"
import type { Transactions as Sends } from "../server/transactions/Transactions.ts"

export const Transactions: Context.Service<Sends, Sends["Service"]> = Context.Service(
  "effect-relayer/server/transactions/Transactions"
)
export const Relayers: Context.Service<Accounts, Accounts["Service"]> = Context.Service(
  "effect-relayer/server/relayers/Relayers"
)
export const Signers: Context.Service<Keys, Keys["Service"]> = Context.Service("effect-relayer/server/signers/Signers")
export const Networks: Context.Service<Chains, Chains["Service"]> = Context.Service(
  "effect-relayer/server/networks/Networks"
)
export const EventFeed: Context.Service<Feed, Feed["Service"]> = Context.Service(
  "effect-relayer/server/events/EventFeed"
)
export const ChainAccess: Context.Service<Access, Access["Service"]> = Context.Service(
  "effect-relayer/server/chains/RpcNodes/ChainAccess"
)
