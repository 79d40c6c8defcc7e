// Who pays whom on which network. The keys are those of test chains, and known to everybody.
import { privateKeyToAccount } from "viem/accounts"

export const network = "eip155:31337"

/** The third account of Foundry's test mnemonic. */
export const payer = privateKeyToAccount("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a")

/** The fourth one. */
export const payTo = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
