import { checkNames, MAX_NUMBER, type OptionSchema, readOptions } from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { systemRuntime } from '../core/runtime/system.ts'
import { SCHEMES, type WebhookScheme } from './schemes.ts'

/** Options of `verifyWebhook`. */
export interface VerifyWebhookOptions {
	/** How much older or newer than this clock a webhook may be. Default: 300,000, five minutes. */
	readonly toleranceMs?: number | undefined
	/** Who signed it. Default: `'standard'`. */
	readonly scheme?: WebhookScheme | undefined
	/** The largest body that is accepted. Default: 1,048,576. */
	readonly maxBodyBytes?: number | undefined
	/** The clock. Default: that of the system. */
	readonly runtime?: Runtime | undefined
}

interface Settings {
	readonly toleranceMs: number
	readonly scheme: WebhookScheme
	readonly maxBodyBytes: number
	readonly runtime: Runtime
}

const SCHEMA: OptionSchema = {
	toleranceMs: [0, MAX_NUMBER, 300_000],
	scheme: Object.keys(SCHEMES),
	maxBodyBytes: [0, MAX_NUMBER, 1_048_576, 'integer'],
	runtime: 'any',
}

export function readVerifyOptions(options: VerifyWebhookOptions): Settings {
	checkNames(options, SCHEMA, 'verifyWebhook')
	return { ...readOptions<Settings>(options, SCHEMA), runtime: options.runtime ?? systemRuntime }
}
