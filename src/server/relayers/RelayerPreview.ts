// What is wrong with the providers and the account of a relayer that is about to be created.
import { Effect, Option } from "effect"
import { chainWarnings } from "../../domain/health/ChainWarnings.ts"
import { Chains } from "../chains/Chains.ts"
import * as Inspection from "../chains/Inspection.ts"
import { unanswered } from "../../domain/health/Funding.ts"
import { networkId } from "../../domain/network/Network.ts"
import type { CreateRelayer } from "../../domain/relayer/Relayer.ts"
import { SignerId } from "../../domain/signer/Signer.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import { Networks } from "../networks/Networks.ts"
import { Signers } from "../signers/Signers.ts"

export const make = Effect.gen(function* () {
  const networks = yield* Networks
  const signers = yield* Signers
  const chains = yield* Chains
  const outboundWork = yield* OutboundWork

  /** None: the service will refuse the create, because the network does not exist or the signer has no address on it. */
  const targetOf = Effect.fnUntraced(
    function* ({ network_type, network: name, policies, signer_id, custom_rpc_urls = [] }: CreateRelayer) {
      const { network, urls } = yield* networks.callable(networkId(network_type, name))
      const { addresses } = yield* signers.get(SignerId.make(signer_id))
      const address = new Map(Object.entries(addresses)).get(network_type)
      if (address === undefined) return Option.none()
      const account = { network_type, network: name, address, ...(policies === undefined ? {} : { policies }) }
      return Option.some({ relayer: account, network, urls: custom_rpc_urls.length > 0 ? custom_rpc_urls : urls })
    },
    Effect.catchTags({ NetworkNotFound: () => Effect.succeedNone, SignerNotFound: () => Effect.succeedNone })
  )

  return Effect.fn("Relayers.preview")(function* (request: CreateRelayer) {
    const target = Option.getOrUndefined(yield* targetOf(request))
    if (target === undefined) return []
    const seen = yield* outboundWork.run(
      Effect.timeoutOrElse(chains.inspect({ ...target, budgetMs: Inspection.previewBudgetMs }), {
        duration: Inspection.previewPatience,
        orElse: () => Effect.succeed(unanswered(target.relayer, target.urls))
      })
    )
    return chainWarnings(target.relayer, seen)
  })
})
