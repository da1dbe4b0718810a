import { InvalidArgumentError } from '../errors/errors.ts'

/** Shared by all copies of the package: ES modules and CommonJS files may both be loaded. */
const MARKS = /* @__PURE__ */ Symbol.for('yaoki.permanent')
const marked: WeakSet<object> = /* @__PURE__ */ sharedMarks()

function sharedMarks(): WeakSet<object> {
	const found: unknown = Reflect.get(globalThis, MARKS)
	if (found instanceof WeakSet) return found
	const created = new WeakSet<object>()
	Reflect.defineProperty(globalThis, MARKS, { value: created })
	return created
}

/**
 * Marks an error as permanent, so that it is not retried, and returns it. The error object is not changed.
 *
 * @example
 * if (stock === 0) throw permanent(new Error('sold out'))
 */
export function permanent<E extends object>(error: E): E {
	if (Object(error) !== error) throw new InvalidArgumentError('error', error, 'an object, such as an Error')
	marked.add(error)
	return error
}

export const isMarkedPermanent = (error: object): boolean => marked.has(error)
