// A new relayer: its creation asks no provider, so that this page does, until the relayer is healthy.
import { useEffect } from "preact/hooks"
import { act, refresh } from "../../data/Registry.ts"
import { checkRelayer, relayerById, relayerExplanation, relayerStatus } from "../../data/Relayers.ts"
import type { Relayer, RelayerExplanation } from "../../data/Relayers.ts"
import { networkList } from "../../data/Networks.ts"
import { words } from "../../words.ts"
import { Created, createdParameter } from "../../parts/Created.tsx"
import { Command } from "../../parts/Curl.tsx"
import { useQuery, useSearch } from "../../parts/useAtom.ts"

const text = words.create.nextOfRelayer

/** Milliseconds between two checks. */
const interval = 15_000

const nextOf = (said: RelayerExplanation | undefined) => {
  if (said === undefined || said.state === "unknown") return text.asking
  if (said.state === "healthy") return text.healthy
  return said.funding === undefined ? text.other : text.funds
}

/** The chain id of development chains, of which anvil gives an account ether from nowhere. */
const development = 31_337

/** Wei. */
const gift = 10n * 10n ** 18n

/** Sets the balance of the address on anvil. */
const giftTo = (address: string, url: string) =>
  `curl ${url} -H 'Content-Type: application/json' -d '${JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "anvil_setBalance",
    params: [address, `0x${gift.toString(16)}`]
  })}'`

interface Props {
  readonly relayer: Relayer
  readonly said: RelayerExplanation | undefined
}

export const FirstCheck = ({ relayer: { id, network }, said }: Props) => {
  const { parameters } = useSearch()
  const chain = useQuery(networkList).value?.find(
    (one) => one.network_type === "evm" && one.name === network && one.chain_id === development
  )
  const [provider] = chain?.rpc_urls ?? []
  const state = said?.state
  const isDue = parameters.has(createdParameter) && state !== "healthy"
  useEffect(() => {
    if (!isDue) return
    const check = async () => {
      await act(checkRelayer(id))
      refresh(relayerById(id), relayerExplanation(id), relayerStatus(id))
    }
    void check()
    const timer = setInterval(() => void check(), interval)
    return () => clearInterval(timer)
  }, [id, isDue])
  return (
    <>
      <Created next={nextOf(said)} />
      {isDue && said?.funding !== undefined && provider !== undefined && (
        <Command summary={text.anvil} command={giftTo(said.funding.address, provider.url)} />
      )}
    </>
  )
}
