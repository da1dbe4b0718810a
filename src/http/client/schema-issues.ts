import type { SchemaIssue } from '../../core/options/standard-schema.ts'

/** How many paths a message names. */
const MAX_PATHS = 3

/** Returns the number of issues and where the first ones are. Without their messages, which may quote the value. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
	const paths = issues.slice(0, MAX_PATHS).map(({ path = [] }) => {
		const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
		return keys.join('.') || 'the top level'
	})
	const count = `${issues.length} issue${issues.length === 1 ? '' : 's'}`
	return `${count}, at ${paths.join(', ')}${issues.length > MAX_PATHS ? ', ...' : ''}`
}
