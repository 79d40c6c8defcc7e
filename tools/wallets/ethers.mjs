// What ethers does through a relayer beside sending: it deploys, signs, and decodes a custom error. Prints the results as JSON.
import { Contract, ContractFactory, FetchRequest, JsonRpcProvider, verifyMessage, verifyTypedData } from "ethers"

const [bytecode, refusedReceiver] = process.argv.slice(2)
const request = new FetchRequest(process.env.RELAYER_RPC)
request.setHeader("authorization", `Bearer ${process.env.API_KEY}`)
const provider = new JsonRpcProvider(request)
provider.pollingInterval = 100
const signer = await provider.getSigner()

const abi = ["error Denied(uint256 code)", "function deny()"]
const deployed = await new ContractFactory(abi, bytecode, signer).deploy()
await deployed.waitForDeployment()
const contract = new Contract(await deployed.getAddress(), abi, signer)

const decoded = async (error) => {
  const { data } = error
  const { name, args } = contract.interface.parseError(data)
  return `${name}(${args.join(", ")})`
}
const revert = await contract.deny().then(() => "none", decoded)

const refused = await signer.sendTransaction({ to: refusedReceiver, value: 1n }).then(
  () => "none",
  (error) => `${error.error.code} ${error.error.message}`
)

const message = "Sign in to example.com"
const types = { Order: [{ name: "amount", type: "uint256" }] }
const domain = { name: "Example", chainId: 31337 }
const signers = [
  verifyMessage(message, await signer.signMessage(message)),
  verifyTypedData(domain, types, { amount: 5n }, await signer.signTypedData(domain, types, { amount: 5n }))
]

process.stdout.write(JSON.stringify({ address: signer.address, revert, refused, signers }))
provider.destroy()
