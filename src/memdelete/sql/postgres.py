"""x"""
kind=among=outside=rows_among=ordered=searched=tagged=within=tag_image=None
