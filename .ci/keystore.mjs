// Prints a keystore whose passphrase is "secret".
import { make } from "../testkit/keystores.ts"

process.stdout.write(JSON.stringify(make(Buffer.alloc(32, 1), "secret")))
