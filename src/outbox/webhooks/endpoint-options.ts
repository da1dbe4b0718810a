/** The options of the methods of `webhooks.endpoints`: validation. */
import {
	checkNames,
	invalidOption,
	isObject,
	MAX_NUMBER,
	type OptionSchema,
} from '../../core/options/schema.ts'
import { isStorable, NAME_BYTES } from '../enqueue/fields.ts'
import type { OperatorOptions } from '../operator/operator.ts'
import { OPERATOR_SCHEMA } from '../operator/operator.ts'

/** A new endpoint, the argument of `webhooks.endpoints.create`. */
export interface NewWebhookEndpoint extends OperatorOptions {
	readonly url: string | URL
	/** The topics that it gets: exact names, beginnings such as `order.*`, or `*`. */
	readonly topics: readonly string[]
	/** Whose events it gets. Default: events without a tenant. */
	readonly tenant?: string | undefined
	/** For people. */
	readonly description?: string | undefined
	/** A secret `whsec_...`, or a private key `whsk_...` for ed25519. Default: a new secret. */
	readonly secret?: string | undefined
}

/** What `webhooks.endpoints.update` changes; what is left out stays. */
export interface WebhookEndpointChange extends OperatorOptions {
	readonly url?: string | URL | undefined
	readonly topics?: readonly string[] | undefined
	/** `''` removes it. */
	readonly description?: string | undefined
}

/** Options of `webhooks.endpoints.rotateSecret`. */
export interface RotateSecretOptions extends OperatorOptions {
	/** The new secret. Default: a new one, of the kind `whsec_...`. */
	readonly secret?: string | undefined
	/** How long the former secrets still sign, in milliseconds. Default 86,400,000 (a day). */
	readonly keepForMs?: number | undefined
}

/** Selects endpoints for `webhooks.endpoints.list`; all given conditions must be met. */
export interface WebhookEndpointFilter {
	/** `''` selects endpoints without a tenant. */
	readonly tenant?: string | undefined
	/** Endpoints with exactly this topic or pattern. */
	readonly topic?: string | undefined
	readonly isEnabled?: boolean | undefined
	/** True: enabled endpoints whose last attempt failed. */
	readonly isFailing?: true | undefined
}

/** Options of `webhooks.endpoints.resend`. */
export interface ResendOptions extends ReplayOptions, OperatorOptions {}

/** Options of `webhooks.endpoints.replay`. It writes new messages and changes none, so it is not in the audit. */
export interface ReplayOptions {
	/** Messages that became dead letters or were sent, or events that were written, at this time or later. */
	readonly since: Date
	/** Only before this time. Default: no end. */
	readonly until?: Date | undefined
	/** How many messages become due per second. Default: all immediately. */
	readonly ratePerSecond?: number | undefined
	/** Stops before the next batch. */
	readonly signal?: AbortSignal | undefined
}

export const NEW_ENDPOINT: OptionSchema = {
	url: 'any',
	topics: 'any',
	tenant: 'any',
	description: 'any',
	secret: 'any',
	...OPERATOR_SCHEMA,
}
export const CHANGE: OptionSchema = { url: 'any', topics: 'any', description: 'any', ...OPERATOR_SCHEMA }
export const ROTATION: OptionSchema = { secret: 'any', keepForMs: 'any', ...OPERATOR_SCHEMA }
const FILTER: OptionSchema = { tenant: 'any', topic: 'any', isEnabled: 'any', isFailing: 'any' }
export const REPLAY: OptionSchema = { since: 'any', until: 'any', ratePerSecond: 'any', signal: 'any' }
const RESEND: OptionSchema = { ...REPLAY, ...OPERATOR_SCHEMA }

const MAX_DESCRIPTION = 1_000

/** `''` stands for no tenant. */
export function readTenant(tenant: unknown): string {
	if (tenant === undefined) return ''
	if (
		typeof tenant !== 'string' ||
		tenant === '' ||
		!isStorable(tenant) ||
		Buffer.byteLength(tenant) > NAME_BYTES
	)
		invalidOption('tenant', tenant, `a non-empty string of at most ${NAME_BYTES} bytes`)
	return tenant
}

export function readDescription(description: unknown): string | null {
	if (description === undefined || description === '') return null
	if (typeof description !== 'string' || !isStorable(description) || description.length > MAX_DESCRIPTION)
		invalidOption('description', description, `a string of at most ${MAX_DESCRIPTION} characters`)
	return description
}

export function readFilter(filter: WebhookEndpointFilter): WebhookEndpointFilter {
	checkNames(filter, FILTER, 'endpoints.list')
	const { tenant, topic, isEnabled, isFailing } = filter
	for (const [name, value] of Object.entries({ tenant, topic }))
		if (value !== undefined && (typeof value !== 'string' || !isStorable(value)))
			invalidOption(name, value, 'a string')
	if (isEnabled !== undefined && typeof isEnabled !== 'boolean')
		invalidOption('isEnabled', isEnabled, 'true or false')
	if (isFailing !== undefined && isFailing !== true) invalidOption('isFailing', isFailing, 'true')
	return { tenant, topic, isEnabled, isFailing }
}

/** Times are milliseconds. */
export interface ResendSettings {
	readonly since: number
	/** Infinity without a limit. */
	readonly until: number
	/** Infinity without a limit. */
	readonly ratePerSecond: number
	readonly signal: AbortSignal | undefined
}

export function readResend(
	options: ReplayOptions,
	owner: string,
	schema: OptionSchema = RESEND,
): ResendSettings {
	if (!isObject(options)) invalidOption('options', options, 'an object such as { since: new Date(...) }')
	checkNames(options, schema, owner)
	const { since, until, ratePerSecond = Infinity, signal } = options
	for (const [name, value] of Object.entries({ since, ...(until && { until }) }))
		if (!(value instanceof Date) || Number.isNaN(value.getTime())) invalidOption(name, value, 'a valid Date')
	if (typeof ratePerSecond !== 'number' || !(ratePerSecond > 0))
		invalidOption('ratePerSecond', ratePerSecond, 'a positive number')
	return { since: since.getTime(), until: until?.getTime() ?? Infinity, ratePerSecond, signal }
}

const DAY_MS = 86_400_000

export function readKeepFor(keepForMs: unknown = DAY_MS): number {
	if (typeof keepForMs !== 'number' || !(keepForMs >= 0 && keepForMs <= MAX_NUMBER))
		invalidOption('keepForMs', keepForMs, 'a number of milliseconds, 0 or more')
	return keepForMs
}
