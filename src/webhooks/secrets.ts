/**
 * Reads secrets and keys in the form of the Standard Webhooks specification: base64 after a prefix that says
 * what it is. An error about a secret describes it and never contains a part of it, because errors are logged
 * with their fields.
 */
import { invalidArgument } from '../core/options/schema.ts'
import { decodeBase64 } from './base64.ts'
import { PUBLIC_KEY_BYTES, SEED_BYTES } from './ed25519.ts'

/** What the sender and the receiver share, for HMAC. */
export interface SharedSecret {
	readonly type: 'shared'
	readonly bytes: Uint8Array<ArrayBuffer>
}
/** The seed of an ed25519 key. Only the sender has it. */
interface PrivateKey {
	readonly type: 'private'
	readonly bytes: Uint8Array<ArrayBuffer>
}
interface PublicKey {
	readonly type: 'public'
	readonly bytes: Uint8Array<ArrayBuffer>
}

type Key = SharedSecret | PrivateKey | PublicKey
export type SigningKey = SharedSecret | PrivateKey
export type VerificationKey = SharedSecret | PublicKey

export const SECRET_PREFIX = 'whsec_'
export const PRIVATE_KEY_PREFIX = 'whsk_'
export const PUBLIC_KEY_PREFIX = 'whpk_'

/** The limits of the specification, in bytes. */
const MIN_SECRET = 24
const MAX_SECRET = 64

type Decode = (bytes: Uint8Array<ArrayBuffer>) => Key | undefined

const DECODERS: Readonly<Record<string, Decode>> = {
	[SECRET_PREFIX]: (bytes) =>
		bytes.length >= MIN_SECRET && bytes.length <= MAX_SECRET ? { type: 'shared', bytes } : undefined,
	// Some implementations store the seed alone, others the public key after it.
	[PRIVATE_KEY_PREFIX]: (bytes) =>
		bytes.length === SEED_BYTES || bytes.length === SEED_BYTES + PUBLIC_KEY_BYTES
			? { type: 'private', bytes: bytes.slice(0, SEED_BYTES) }
			: undefined,
	[PUBLIC_KEY_PREFIX]: (bytes) => (bytes.length === PUBLIC_KEY_BYTES ? { type: 'public', bytes } : undefined),
}

const SHARED_FORM = `"${SECRET_PREFIX}" and ${MIN_SECRET} to ${MAX_SECRET} bytes in base64`
const SIGNING_FORM = `${SHARED_FORM}, or a private key, "${PRIVATE_KEY_PREFIX}" and ${SEED_BYTES} or ${SEED_BYTES + PUBLIC_KEY_BYTES} bytes in base64`
const VERIFICATION_FORM = `${SHARED_FORM}, or a public key, "${PUBLIC_KEY_PREFIX}" and ${PUBLIC_KEY_BYTES} bytes in base64`

const prefixOf = (secret: string): string | undefined =>
	Object.keys(DECODERS).find((prefix) => secret.startsWith(prefix))

function readKey(secret: unknown): Key | undefined {
	if (typeof secret !== 'string') return undefined
	const prefix = prefixOf(secret)
	if (prefix === undefined) return undefined
	const bytes = decodeBase64(secret.slice(prefix.length))
	return bytes && DECODERS[prefix]?.(bytes)
}

/** Describes a value in the place of a secret, without any part of it. */
function describe(secret: unknown): unknown {
	if (secret === undefined || secret === null || secret === '') return secret
	if (typeof secret !== 'string') return `a value of the type ${typeof secret}`
	if (secret.trim() !== secret) return 'a text with white space around it'
	const prefix = prefixOf(secret)
	if (prefix === undefined) return '*** without such a prefix'
	const bytes = decodeBase64(secret.slice(prefix.length))
	return `${prefix}*** (${bytes ? `${bytes.length} bytes` : 'not base64'})`
}

const invalidSecret = (path: string, secret: unknown, expected: string): never =>
	invalidArgument(path, describe(secret), expected)

/** Returns the secret or private key that signs. `path` names it in the error. */
function readSigningKey(path: string, secret: unknown): SigningKey {
	const key = readKey(secret)
	return key && key.type !== 'public' ? key : invalidSecret(path, secret, SIGNING_FORM)
}

export function readVerificationKey(path: string, secret: unknown): VerificationKey {
	const key = readKey(secret)
	return key && key.type !== 'private' ? key : invalidSecret(path, secret, VERIFICATION_FORM)
}

/** Returns a secret of a provider that uses its text as the key. */
export function readTextSecret(path: string, secret: unknown): SharedSecret {
	if (typeof secret !== 'string' || secret === '' || secret.trim() !== secret)
		return invalidSecret(path, secret, "the provider's signing secret, a text without white space around it")
	return { type: 'shared', bytes: new TextEncoder().encode(secret) }
}

/** Throws an InvalidArgumentError that names `path` unless the secret can sign. */
export function checkSecret(path: string, secret: unknown): void {
	readSigningKey(path, secret)
}

export const readSigningKeys = (secrets: unknown): readonly SigningKey[] =>
	readSecrets(secrets, readSigningKey)

/** Reads one secret or a list of them. */
export function readSecrets<K>(
	secrets: unknown,
	read: (path: string, secret: unknown) => K,
): readonly [K, ...K[]] {
	if (!Array.isArray(secrets)) return [read('secrets', secrets)]
	const [first, ...others] = secrets.map((secret, at) => read(`secrets[${at}]`, secret))
	if (first === undefined) invalidArgument('secrets', '[]', 'a secret, or a list of at least one')
	return [first, ...others]
}
