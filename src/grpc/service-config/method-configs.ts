/** The entries of `methodConfig`: names, settings, and the index that finds the settings of a method. */
import { invalidOption } from '../../core/options/schema.ts'
import { readDuration } from './duration.ts'
import { checkFields, fieldOf, type JsonObject, optionalField, readList, readObject } from './fields.ts'
import { readHedgingPolicy, readRetryPolicy } from './policies.ts'
import type { MethodConfig, MethodConfigEntry, MethodIndex, MethodName } from './service-config.ts'

const ENTRY_FIELDS = [
	'name',
	'timeout',
	'waitForReady',
	'maxRequestMessageBytes',
	'maxResponseMessageBytes',
	'retryPolicy',
	'hedgingPolicy',
]

/** Reads one entry. Throws an InvalidOptionError. */
export function readMethodConfig(path: string, value: unknown, maxAttemptsCap: number): MethodConfigEntry {
	const entry = readObject(path, value)
	checkFields(entry, path, ENTRY_FIELDS, 'methodConfig')
	const namesPath = `${path}.name`
	const names = readList(
		namesPath,
		fieldOf(entry, 'name'),
		'a list of names, such as [{ "service": "shop.Orders" }]',
	)
	return Object.freeze({
		names: Object.freeze(names.map((name, index) => readName(`${namesPath}[${index}]`, name))),
		config: readConfig(entry, path, maxAttemptsCap),
	})
}

function readConfig(entry: JsonObject, path: string, maxAttemptsCap: number): MethodConfig {
	const retryPolicy = optionalField(entry, path, 'retryPolicy', (...field) =>
		readRetryPolicy(...field, maxAttemptsCap),
	)
	const hedgingPolicy = optionalField(entry, path, 'hedgingPolicy', (...field) =>
		readHedgingPolicy(...field, maxAttemptsCap),
	)
	if (retryPolicy && hedgingPolicy)
		invalidOption(`${path}.hedgingPolicy`, fieldOf(entry, 'hedgingPolicy'), 'no value beside a retryPolicy')
	return Object.freeze({
		timeoutMs: optionalField(entry, path, 'timeout', readDuration),
		waitForReady: optionalField(entry, path, 'waitForReady', readBoolean),
		maxRequestMessageBytes: optionalField(entry, path, 'maxRequestMessageBytes', readBytes),
		maxResponseMessageBytes: optionalField(entry, path, 'maxResponseMessageBytes', readBytes),
		retryPolicy,
		hedgingPolicy,
	})
}

function readName(path: string, value: unknown): MethodName {
	const name = readObject(path, value, 'an object, such as { "service": "shop.Orders", "method": "Get" }')
	checkFields(name, path, ['service', 'method'], 'name')
	const service = optionalField(name, path, 'service', readString) ?? ''
	const method = optionalField(name, path, 'method', readString) ?? ''
	if (method && !service)
		invalidOption(
			`${path}.service`,
			fieldOf(name, 'service'),
			'the name of a service, because a method is given',
		)
	return Object.freeze({ service, method })
}

function readString(path: string, value: unknown): string {
	if (typeof value !== 'string') invalidOption(path, value, 'a string')
	return value
}

function readBoolean(path: string, value: unknown): boolean {
	if (typeof value !== 'boolean') invalidOption(path, value, 'true or false')
	return value
}

const MAX_UINT32 = 2 ** 32 - 1

/** proto3's JSON writes a UInt32Value as a number, and accepts it as a string. */
function readBytes(path: string, value: unknown): number {
	const bytes = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value
	if (!Number.isInteger(bytes) || !(Number(bytes) >= 0 && Number(bytes) <= MAX_UINT32))
		invalidOption(path, value, `an integer from 0 to ${MAX_UINT32}, as a number or a string`)
	return Number(bytes)
}

/** Indexes all entries by name. Throws an InvalidOptionError for a repeated name. */
export function indexMethods(entries: readonly MethodConfigEntry[]): MethodIndex {
	const index = new Map<string, Map<string, MethodConfig>>()
	for (const [position, { names, config }] of entries.entries())
		for (const [place, name] of names.entries()) {
			const methods = index.get(name.service) ?? new Map<string, MethodConfig>()
			if (methods.has(name.method)) invalidOption(pathOf(position, place), name, unusedName(entries, name))
			index.set(name.service, methods.set(name.method, config))
		}
	return index
}

const pathOf = (entry: number, name: number): string => `methodConfig[${entry}].name[${name}]`

function unusedName(entries: readonly MethodConfigEntry[], { service, method }: MethodName): string {
	const isSame = (other: MethodName): boolean => other.service === service && other.method === method
	const entry = entries.findIndex(({ names }) => names.some(isSame))
	const first = pathOf(entry, entries[entry]?.names.findIndex(isSame) ?? 0)
	return `a name that no other entry has: ${JSON.stringify({ service, method })} is also ${first}`
}
