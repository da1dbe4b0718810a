import { withOptionPath } from '../../core/options/option-path.ts'
import { invalidOption } from '../../core/options/schema.ts'

/** Throws an InvalidOptionError. */
export const refuse: typeof invalidOption = invalidOption

/** Prefixes the path of an invalid option: `placed('cache.', create)`. */
export const placed = <T>(place: string, make: () => T): T =>
	place ? withOptionPath(place.slice(0, -1), make) : make()

/** Changes the message of an error, also in its stack, which is what logs print. */
export function reword(error: Error, message: string): void {
	const { message: before, stack } = error
	error.message = message
	if (stack) error.stack = stack.replace(before, () => message)
}
