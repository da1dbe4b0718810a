/**
 * The secrets of an endpoint, as text in its row: the newest first, and those that still sign after a rotation.
 * Nothing else of the package sees the text of a secret: events, logs, errors and the command line do not have it.
 */
import { YaokiError } from '../../core/errors/errors.ts'

/** Encrypts secrets before they are stored, and decrypts them before a signature. */
export interface SecretEncryption {
	/** Returns the text that is stored. */
	encrypt(secret: string): string | Promise<string>
	/** Returns the secret of a text that `encrypt` has returned. */
	decrypt(encrypted: string): string | Promise<string>
}

interface StoredSecret {
	readonly value: string
	readonly isEncrypted?: true
	/** When it stops to sign, in milliseconds since 1970. Undefined for the newest. */
	readonly until?: number
}

/** More would make the header with the signatures of every request longer. */
const MAX_SECRETS = 5

export async function storeSecret(
	secret: string,
	encryption: SecretEncryption | undefined,
): Promise<StoredSecret> {
	if (!encryption) return { value: secret }
	const value: unknown = await encryption.encrypt(secret)
	// A bug here would store the secret as it is, or something that cannot be decrypted.
	if (typeof value !== 'string' || value === '' || value === secret)
		throw new YaokiError(
			'YAOKI_WEBHOOK_SECRET',
			'secretEncryption.encrypt must return the encrypted text, which is not empty and not the secret itself',
		)
	return { value, isEncrypted: true }
}

export const toText = (secrets: readonly StoredSecret[]): string => JSON.stringify(secrets)

const parse = (text: string): readonly StoredSecret[] => JSON.parse(text)

/** Returns the secrets with a new one in front. The former ones sign until `until`. */
export function withNewSecret(text: string, added: StoredSecret, until: number, now: number): string {
	const former = parse(text)
		.map((secret) => ({ ...secret, until: Math.min(secret.until ?? Infinity, until) }))
		.filter((secret) => secret.until > now)
	return toText([added, ...former].slice(0, MAX_SECRETS))
}

/** True if a secret is encrypted, so that only a program with the key can add one. */
export const hasEncryptedSecret = (text: string): boolean => parse(text).some((one) => one.isEncrypted)

/** Secrets that sign, and until when this list holds. */
interface ActiveSecrets {
	readonly secrets: readonly string[]
	readonly until: number
}

/** Returns the secrets that sign now, the newest first. */
export async function activeSecrets(
	text: string,
	encryption: SecretEncryption | undefined,
	now: number,
): Promise<ActiveSecrets> {
	const active = parse(text).filter(({ until = Infinity }) => until > now)
	const secrets = await Promise.all(active.map((secret) => decrypt(secret, encryption)))
	return { secrets, until: Math.min(Infinity, ...active.map(({ until = Infinity }) => until)) }
}

async function decrypt(
	{ value, isEncrypted }: StoredSecret,
	encryption: SecretEncryption | undefined,
): Promise<string> {
	if (!isEncrypted) return value
	if (!encryption)
		throw new YaokiError(
			'YAOKI_WEBHOOK_SECRET',
			'The secret of this endpoint is encrypted. Pass secretEncryption to new Webhooks, as the program that created it did',
		)
	try {
		return await encryption.decrypt(value)
	} catch (cause) {
		throw new YaokiError(
			'YAOKI_WEBHOOK_SECRET',
			'secretEncryption.decrypt failed for the secret of this endpoint',
			{ cause },
		)
	}
}

/** True if a secret is one of these, and is not encrypted. */
export const hasSecret = (text: string, secret: string): boolean =>
	parse(text).some(({ value, isEncrypted }) => !isEncrypted && value === secret)
