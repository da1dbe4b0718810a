/** A node of the syntax tree that vite's parser returns. */
export interface Node {
	readonly type: string
	readonly start: number
	readonly end: number
	readonly [part: string]: unknown
}

export const isNode = (value: unknown): value is Node =>
	typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/** Visits a node, or each of a list, and everything inside it. */
export function walk(value: unknown, visit: (node: Node) => void): void {
	if (Array.isArray(value)) for (const item of value) walk(item, visit)
	if (!isNode(value)) return
	visit(value)
	for (const child of Object.values(value)) walk(child, visit)
}
