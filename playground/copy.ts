/** Copies a text to the clipboard. If the browser does not allow that, selects it, so that the user can copy it. */
export async function copy(text: string, source?: Element): Promise<'copied' | 'selected'> {
	try {
		await navigator.clipboard.writeText(text)
		return 'copied'
	} catch {
		if (source) getSelection()?.selectAllChildren(source)
		return 'selected'
	}
}
