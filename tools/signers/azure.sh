#!/usr/bin/env bash
# Checks signers of type azure_key_vault with a real vault. It costs a few cents; CI does not run it.
#
# Needs: az with a login that may create keys in the vault; a running service (npm start); an application with a client secret
# and the role "Key Vault Crypto User" on the vault; API_KEY of the service.
# Run:   VAULT=my-vault TENANT_ID=… CLIENT_ID=… SECRET_FILE=secret.txt API_KEY=… tools/signers/azure.sh
# On a virtual machine or App Service with a managed identity: AUTH_TYPE=managed_identity and no TENANT_ID, CLIENT_ID, SECRET_FILE.
# Leaves: the deleted key, which the vault purges after its retention time.
set -euo pipefail
: "${VAULT:?the name of the vault}" "${API_KEY:?the API key of the service}"
id=check-$(date +%s) auth=${AUTH_TYPE:-client_secret}
relayer() { node "$(dirname "$0")/../../src/main.ts" "$@"; }

az keyvault key create --vault-name "$VAULT" --name "$id" --kty EC --curve P-256K --ops sign verify >/dev/null
relayer signers create --id "$id" --type azure_key_vault --auth-type "$auth" --key-name "$id" \
  --vault-url "https://$VAULT.vault.azure.net" ${TENANT_ID:+--tenant-id "$TENANT_ID"} ${CLIENT_ID:+--client-id "$CLIENT_ID"} \
  ${SECRET_FILE:+--client-secret-file "$SECRET_FILE"}
relayer signers verify "$id"
echo "making a newer version: the next verification has to warn, and to succeed"
az keyvault key create --vault-name "$VAULT" --name "$id" --kty EC --curve P-256K --ops sign verify >/dev/null
relayer signers verify "$id" | tee /dev/stderr | grep -q warning
echo "disabling the key: the next verification has to fail"
for version in $(az keyvault key list-versions --vault-name "$VAULT" --name "$id" --query '[].kid' --output tsv); do
  az keyvault key set-attributes --id "$version" --enabled false >/dev/null
done
if relayer signers verify "$id"; then echo "FAILED: a disabled key still signs" >&2; exit 1; fi
relayer signers delete "$id" --yes
az keyvault key delete --vault-name "$VAULT" --name "$id" >/dev/null
echo "passed"
