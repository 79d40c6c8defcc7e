// `aws_kms` against its stand-in.
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import { contract } from "./contract.ts"

contract("aws_kms", ["secp256k1", "ed25519"], AwsKms.layer)
