// Keystores with known keys: the examples of the definition, and new ones.
import * as crypto from "node:crypto"
import { keccak256 } from "viem/utils"

/** Both from https://github.com/ethereum/wiki/wiki/Web3-Secret-Storage-Definition. */
export const passphrase = "testpassword"
export const privateKey = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d"

export const byPbkdf2 = {
  crypto: {
    cipher: "aes-128-ctr",
    cipherparams: { iv: "6087dab2f9fdbbfaddc31a909735c1e6" },
    ciphertext: "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
    kdf: "pbkdf2",
    kdfparams: {
      c: 262144,
      dklen: 32,
      prf: "hmac-sha256",
      salt: "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"
    },
    mac: "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"
  },
  id: "3198bc9c-6672-5ab3-d995-4942343ae5b6",
  version: 3
}

export const byScrypt = {
  crypto: {
    cipher: "aes-128-ctr",
    cipherparams: { iv: "83dbcc02d8ccb40e466191a123791e0e" },
    ciphertext: "d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c",
    kdf: "scrypt",
    kdfparams: {
      dklen: 32,
      n: 262144,
      p: 8,
      r: 1,
      salt: "ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19"
    },
    mac: "2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097"
  },
  id: "3198bc9c-6672-5ab3-d995-4942343ae5b6",
  version: 3
}

/** Makes a keystore as a wallet does, with a cheap key derivation by default. */
export const make = (key: Uint8Array, secret: string, { n = 2, r = 8, p = 1 } = {}) => {
  const salt = crypto.randomBytes(32)
  const iv = crypto.randomBytes(16)
  const derived = crypto.scryptSync(secret, salt, 32, { N: n, r, p })
  const cipher = crypto.createCipheriv("aes-128-ctr", derived.subarray(0, 16), iv)
  const ciphertext = Buffer.concat([cipher.update(key), cipher.final()])
  return {
    address: "unchecked",
    crypto: {
      cipher: "aes-128-ctr",
      cipherparams: { iv: iv.toString("hex") },
      ciphertext: ciphertext.toString("hex"),
      kdf: "scrypt",
      kdfparams: { dklen: 32, n, r, p, salt: salt.toString("hex") },
      mac: keccak256(Buffer.concat([derived.subarray(16), ciphertext])).slice(2)
    },
    id: crypto.randomUUID(),
    version: 3
  }
}
