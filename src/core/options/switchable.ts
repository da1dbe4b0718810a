import { invalidOption, isObject } from './schema.ts'

/** Returns the options of a policy that can be switched on and off; undefined means the default. */
export function readSwitchable<Options extends object>(
	name: string,
	given: Options | boolean | undefined,
	defaults: Options | undefined,
): Options | undefined {
	if (given === undefined) return defaults
	if (typeof given === 'boolean') return given ? (defaults ?? ({} as Options)) : undefined
	if (!isObject(given)) invalidOption(name, given, 'an options object, true or false')
	// All origins or methods would share the policy, and the outage of one would block the others.
	if ('execute' in given) invalidOption(name, given, 'an options object, not a policy')
	return given
}
