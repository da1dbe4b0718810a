/** Which topics an endpoint gets. A pattern ends at a dot, so the endpoints of a topic are found by a few exact names. */
import { invalidOption } from '../../core/options/schema.ts'
import { isStorable, NAME_BYTES } from '../enqueue/fields.ts'

const MAX_TOPICS = 1_000

const EXPECTED = "topics such as 'order.placed', 'order.*' or '*'"

/** Returns the topics of an endpoint without duplicates. Throws if one is not an exact topic, `prefix.*` or `*`. */
export function readTopicPatterns(given: unknown): readonly string[] {
	if (!Array.isArray(given) || given.length === 0)
		invalidOption('topics', given, `an array with at least one topic: ${EXPECTED}`)
	if (given.length > MAX_TOPICS) invalidOption('topics', given.length, `at most ${MAX_TOPICS} topics`)
	for (const [index, topic] of given.entries())
		if (!isTopicPattern(topic)) invalidOption(`topics[${index}]`, topic, EXPECTED)
	return [...new Set<string>(given)]
}

function isTopicPattern(topic: unknown): boolean {
	if (typeof topic !== 'string' || topic === '' || !isStorable(topic)) return false
	if (Buffer.byteLength(topic) > NAME_BYTES) return false
	const asterisk = topic.indexOf('*')
	return asterisk === -1 || topic === '*' || (asterisk === topic.length - 1 && topic.at(-2) === '.')
}

/**
 * Returns the topics and patterns that match a topic.
 *
 * @example
 * patternsFor('order.item.added') // => ['order.item.added', 'order.item.*', 'order.*', '*']
 */
export function patternsFor(topic: string): readonly string[] {
	const patterns = [topic]
	for (let dot = topic.lastIndexOf('.'); dot > 0; dot = topic.lastIndexOf('.', dot - 1))
		patterns.push(`${topic.slice(0, dot)}.*`)
	return [...patterns, '*']
}
