import { encodeBase64 } from './base64.ts'
import { generateEd25519 } from './ed25519.ts'
import { PRIVATE_KEY_PREFIX, PUBLIC_KEY_PREFIX, SECRET_PREFIX } from './secrets.ts'

const SECRET_BYTES = 32

/**
 * Returns a new random secret of 32 bytes, `whsec_…`, for `signWebhook` and `verifyWebhook`. Give each
 * receiver its own.
 *
 * @example
 * createWebhookSecret().length // => 50
 */
export function createWebhookSecret(): string {
	return SECRET_PREFIX + encodeBase64(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)))
}

/**
 * Returns a new ed25519 key pair. With it receivers can verify webhooks, but not sign them.
 *
 * @example
 * const { privateKey, publicKey } = await createWebhookKeyPair()
 */
export async function createWebhookKeyPair(): Promise<{
	/** `whsk_...`: signs. It stays with the sender. */
	readonly privateKey: string
	/** `whpk_...`: verifies. Give it to receivers. */
	readonly publicKey: string
}> {
	const { seed, publicKey } = await generateEd25519()
	const both = Uint8Array.of(...seed, ...publicKey)
	return {
		privateKey: PRIVATE_KEY_PREFIX + encodeBase64(both),
		publicKey: PUBLIC_KEY_PREFIX + encodeBase64(publicKey),
	}
}
