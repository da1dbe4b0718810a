/** Suggestions for unknown names. The search itself is in core, which suggests option names. */
export { nearestName } from '../core/options/nearest-name.ts'

/** Returns the sentence that follows an error about an unknown name, with a space before it, or nothing. */
export const didYouMean = (name: string | undefined): string =>
	name === undefined ? '' : ` Did you mean "${name}"?`
