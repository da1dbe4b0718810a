/**
 * Service configs are written for clients in all languages. What Yaoki uses is validated strictly, unknown
 * names included, because a misspelt `retryPolicy` would silently mean no retries. The other fields belong to
 * the channel, and gRPC may add new ones at any time.
 */
import { InvalidArgumentError } from '../../core/errors/errors.ts'
import {
	checkNames,
	invalidArgument,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import { checkFields, isJsonObject, optionalField, readList } from './fields.ts'
import { indexMethods, readMethodConfig } from './method-configs.ts'
import { readRetryThrottling } from './policies.ts'
import { ServiceConfig } from './service-config.ts'

/** Options of `parseServiceConfig`. */
export interface ServiceConfigOptions {
	/**
	 * The most attempts of a call, the first one included. A higher `maxAttempts` of the config means this
	 * number. Hedging sends at most 101 requests. Default 5.
	 */
	readonly maxAttemptsCap?: number | undefined
}

const SCHEMA: OptionSchema = { maxAttemptsCap: [2, MAX_NUMBER, 5, 'integer'] }

/** The fields of gRPC's service_config.proto. */
const FIELDS = [
	'methodConfig',
	'retryThrottling',
	'loadBalancingPolicy',
	'loadBalancingConfig',
	'healthCheckConfig',
	'connectionScaling',
]

/** The field of a choice of a DNS record that contains the config. */
const ROOT = 'serviceConfig'

/**
 * Parses and validates a gRPC service config: a string, or the object that `JSON.parse` returns. Throws an
 * InvalidOptionError with the path of an invalid field, its value and what is valid.
 *
 * @example
 * const config = parseServiceConfig({
 *   methodConfig: [
 *     {
 *       name: [{ service: 'shop.v1.Orders' }],
 *       timeout: '2.5s',
 *       retryPolicy: {
 *         maxAttempts: 4,
 *         initialBackoff: '0.1s',
 *         maxBackoff: '1s',
 *         backoffMultiplier: 2,
 *         retryableStatusCodes: ['UNAVAILABLE'],
 *       },
 *     },
 *   ],
 *   retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
 * })
 */
export function parseServiceConfig(json: string | object, options: ServiceConfigOptions = {}): ServiceConfig {
	checkNames(options, SCHEMA, 'parseServiceConfig')
	const { maxAttemptsCap } = readOptions<{ readonly maxAttemptsCap: number }>(options, SCHEMA)
	const config = typeof json === 'string' ? parseJson(json) : json
	if (!isJsonObject(config)) invalidArgument('json', config, 'a JSON object')
	checkFields(config, '', FIELDS, 'a service config', true)
	// Accepted as unknown, it would be an empty config.
	if (Object.hasOwn(config, ROOT)) invalidOption(ROOT, config[ROOT], 'no such field: pass its value')
	const entries = optionalField(config, '', 'methodConfig', readList) ?? []
	const methodConfigs = entries.map((entry, index) =>
		readMethodConfig(`methodConfig[${index}]`, entry, maxAttemptsCap),
	)
	return ServiceConfig.create({
		json: typeof json === 'string' ? config : copyOf(config),
		retryThrottling: optionalField(config, '', 'retryThrottling', readRetryThrottling),
		methodConfigs: Object.freeze(methodConfigs),
		index: indexMethods(methodConfigs),
	})
}

/** How much of a text an error shows. */
const MAX_SHOWN = 80

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text)
	} catch (cause) {
		const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text
		throw new InvalidArgumentError('json', shown, `JSON (${(cause as Error).message})`, { cause })
	}
}

/** The object belongs to the caller, who may change it. */
function copyOf(json: object): object {
	try {
		return JSON.parse(JSON.stringify(json))
	} catch (cause) {
		throw new InvalidArgumentError('json', json, 'an object that JSON can represent', { cause })
	}
}
