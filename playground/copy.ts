/** Copies a text. Where the browser does not let a page do so, the text is selected, which leaves one key to press. */
export async function copy(text: string, source?: Element): Promise<'copied' | 'selected'> {
	try {
		await navigator.clipboard.writeText(text)
		return 'copied'
	} catch {
		if (source) getSelection()?.selectAllChildren(source)
		return 'selected'
	}
}
