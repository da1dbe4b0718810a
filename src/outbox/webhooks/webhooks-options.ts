/** The options of webhooks: validation and defaults. */
import { withOptionPath } from '../../core/options/option-path.ts'
import {
	checkNames,
	invalidOption,
	isObject,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { WebhookListener } from './events.ts'
import type { SecretEncryption } from './stored-secrets.ts'
import { readUrlRules, type WebhookUrlOptions } from './transport/check-url.ts'
import {
	DEFAULT_MAX_RESPONSE_BYTES,
	type GuardedClientOptions,
	MAX_RESPONSE_BYTES,
} from './transport/guarded-client.ts'

/** Which URLs of endpoints are accepted: the option `ssrfProtection` of `new Webhooks`. */
export type SsrfProtectionOptions = WebhookUrlOptions & Pick<GuardedClientOptions, 'lookup'>

/** Options of `new Webhooks`, its second argument. */
export interface WebhooksOptions {
	/** The name in events. Default `'webhooks'`. */
	readonly name?: string | undefined
	/**
	 * Which URLs of customers are accepted. By default only `https:` on port 443 to public addresses, checked when an
	 * endpoint is created and again at every connection. `false` sends to any URL, for endpoints of your own.
	 */
	readonly ssrfProtection?: SsrfProtectionOptions | false | undefined
	/** The `fetch` that sends the requests. Needs `ssrfProtection: false`, because it connects by itself. */
	readonly fetch?: typeof fetch | undefined
	/**
	 * An endpoint whose attempts have all failed for this time is disabled, in milliseconds, after 10 attempts at the
	 * earliest. `Infinity`: never. Default 432,000,000 (5 days).
	 */
	readonly disableAfterMs?: number | undefined
	/**
	 * How long events are kept, so that `endpoints.replay` can write them for an endpoint that was added or enabled
	 * later, in milliseconds. `Infinity` keeps them permanently. Default 0: no events are kept.
	 */
	readonly keepEventsForMs?: number | undefined
	/** How much of a response is read for the attempt log, in bytes. Default 65,536. */
	readonly maxResponseBytes?: number | undefined
	/** Encrypts the secrets of endpoints in the database. Default: they are stored as they are. */
	readonly secretEncryption?: SecretEncryption | undefined
	/** Receives every event. */
	readonly onEvent?: WebhookListener | undefined
	/** Clock, timers and randomness. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

type Optional = 'fetch' | 'secretEncryption' | 'onEvent'

export type WebhooksSettings = Pick<WebhooksOptions, Optional> & {
	readonly [Name in Exclude<keyof WebhooksOptions, Optional>]-?: NonNullable<WebhooksOptions[Name]>
}

const SCHEMA: OptionSchema = {
	name: 'string',
	ssrfProtection: 'any',
	fetch: 'function',
	disableAfterMs: [0, Infinity, 432_000_000],
	keepEventsForMs: [0, Infinity, 0],
	maxResponseBytes: [0, MAX_RESPONSE_BYTES, DEFAULT_MAX_RESPONSE_BYTES, 'integer'],
	secretEncryption: 'any',
	onEvent: 'function',
	runtime: 'any',
}

export function readWebhooksOptions(options: WebhooksOptions): WebhooksSettings {
	checkNames(options, SCHEMA, 'Webhooks')
	const settings = readOptions<WebhooksSettings>(options, SCHEMA)
	const { name = 'webhooks', runtime = systemRuntime, ssrfProtection = {} } = options
	const { fetch, secretEncryption: encryption } = options
	if (typeof runtime?.setTimer !== 'function') invalidOption('runtime', runtime, 'a Runtime')
	if (ssrfProtection !== false && !isObject(ssrfProtection))
		invalidOption('ssrfProtection', ssrfProtection, "false, or an object such as { allow: ['10.1.0.0/16'] }")
	if (ssrfProtection !== false) checkProtection(ssrfProtection)
	if (fetch !== undefined && ssrfProtection !== false)
		invalidOption(
			'fetch',
			fetch,
			'no fetch, because it would connect to addresses that were not checked. With ssrfProtection: false it is used',
		)
	if (encryption !== undefined && !isEncryption(encryption))
		invalidOption('secretEncryption', encryption, 'an object with the functions encrypt and decrypt')
	return { ...settings, name, runtime, ssrfProtection }
}

const checkProtection = ({ lookup, ...urls }: SsrfProtectionOptions): void =>
	withOptionPath('ssrfProtection', () => {
		if (lookup !== undefined && typeof lookup !== 'function') invalidOption('lookup', lookup, 'a function')
		readUrlRules(urls)
	})

const isEncryption = (value: Partial<SecretEncryption> | null): boolean =>
	typeof value?.encrypt === 'function' && typeof value.decrypt === 'function'
