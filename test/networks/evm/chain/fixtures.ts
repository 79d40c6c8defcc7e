// Evm providers within this machine, and a funded account that signs.
import { Context, Effect, Layer } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import { EvmNodes, makeEvmNodes } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import { makeAllowList, Outbound } from "../../../../src/outbound/Outbound.ts"
import { Breakers } from "../../../../src/server/chains/Breakers.ts"
import { ChainAccess, RpcNodes } from "../../../../src/server/chains/RpcNodes.ts"

/** The key of `Anvil.funded`, which anvil prints at its start. */
const account = privateKeyToAccount("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")

const gwei = 10n ** 9n

/** Raw bytes of a transfer of 1 wei. */
export const transfer = (nonce: number, price = 10n * gwei, chainId = 31337) =>
  Effect.promise(() =>
    account.signTransaction({
      type: "eip1559",
      chainId,
      nonce,
      to: `0x${"cd".repeat(20)}`,
      value: 1n,
      gas: 21_000n,
      maxFeePerGas: price,
      maxPriorityFeePerGas: gwei
    })
  )

export const make = Effect.map(
  Layer.build(
    Layer.effect(EvmNodes, makeEvmNodes).pipe(
      Layer.provide(RpcNodes.layerNoDeps()),
      Layer.provideMerge(Breakers.layer()),
      Layer.provide(ChainAccess.layer),
      Layer.provide(Outbound.layer({ allow: makeAllowList(["127.0.0.0/8"]), timeout: "1 days" }))
    )
  ),
  (context) => ({ nodes: Context.get(context, EvmNodes), breakers: Context.get(context, Breakers) })
)
