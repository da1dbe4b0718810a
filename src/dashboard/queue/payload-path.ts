/** Finds a value in a payload by a path such as `customer.id` or `items[0].sku`. */
import { invalidArgument } from '../../core/options/schema.ts'

const MAX_STEPS = 20

/** Returns the names and indexes of the path. */
export function parsePath(path: string): readonly string[] {
	const steps = path.replaceAll('[', '.').replaceAll(']', '').split('.')
	if (steps.length > MAX_STEPS || steps.includes(''))
		invalidArgument('path', path, `1 to ${MAX_STEPS} names, such as customer.id or items[0].sku`)
	return steps
}

/**
 * True if the payload has this value at the path. A name that follows an array is looked up in each of its elements.
 * The value is compared as text: `7` finds the number and the string.
 */
export function hasValue(payload: unknown, steps: readonly string[], value: string): boolean {
	const [step, ...rest] = steps
	if (step === undefined) return (typeof payload === 'string' ? payload : jsonText(payload)) === value
	if (typeof payload !== 'object' || payload === null) return false
	if (Array.isArray(payload) && !/^\d+$/.test(step))
		return payload.flat(MAX_STEPS).some((item) => !Array.isArray(item) && hasValue(item, steps, value))
	return Object.hasOwn(payload, step) && hasValue(Reflect.get(payload, step), rest, value)
}

/** Returns the payload as JSON; undefined for values that are nested too deeply for `JSON.stringify`. */
export function jsonText(payload: unknown): string | undefined {
	try {
		return JSON.stringify(payload)
	} catch {
		return undefined
	}
}
