// The network types that the service has. No other file of the process names them all.
import { evm } from "../networks/evm/index.ts"
import { solana } from "../networks/solana/index.ts"
import { stellar } from "../networks/stellar/index.ts"
import type { ServedNetwork } from "../server/ServedNetworks.ts"

export const networks: ReadonlyArray<ServedNetwork> = [evm, solana, stellar]
