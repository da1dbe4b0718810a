import { InvalidOptionError } from '../../core/errors/errors.ts'

const TAKES = '; takes '

/** Makes something of core's; what core refuses about its options is told with the option's place in the scenario. */
export function located<T>(path: string, make: () => T): T {
	try {
		return make()
	} catch (error) {
		if (!(error instanceof InvalidOptionError) || error.option.startsWith(path)) throw error
		const takes = error.message.slice(error.message.lastIndexOf(TAKES) + TAKES.length)
		// What is refused as a whole, such as a timeout's length, is named like a call.
		const option = /^\w+\(/.test(error.option) ? path : `${path}.${error.option}`
		throw new InvalidOptionError(option, error.received, takes)
	}
}
